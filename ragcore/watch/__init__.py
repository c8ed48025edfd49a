"""What happens by itself: changes of the documents, whoever wrote them, become realtime events and fire triggers."""

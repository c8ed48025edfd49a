"""Files of an instance: the tree of their documents, and the storage of their content."""

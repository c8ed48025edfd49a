"""The ways in which questions are answered, by the surfaces that they come from."""

from ragcore.agent import AGENT
from ragcore.agent.agent import Agent
from ragcore.chat.answer import CHAT
from ragcore.chat.reading import Ways
from ragcore.grounded import ASK
from ragcore.grounded.ask import Ask
from ragcore.v1 import V1
from ragcore.v1.completion import Completion

WAYS: Ways = {**CHAT, ASK: Ask, AGENT: Agent, V1: Completion}

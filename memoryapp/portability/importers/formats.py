"""The formats that are read here, in the order in which an entry is compared with them."""

from typing import Final

from memoryapp.portability.importers.chatgpt import ChatGPTReader
from memoryapp.portability.importers.claude import ClaudeReader
from memoryapp.portability.importers.items import Format
from memoryapp.portability.importers.librechat import LibreChatReader
from memoryapp.portability.importers.mem0 import Mem0Reader
from memoryapp.portability.importers.openwebui import OpenWebUIReader
from memoryapp.portability.importers.reader import Reader

READERS: Final[dict[Format, type[Reader]]] = {
    reader.format: reader
    for reader in (ChatGPTReader, ClaudeReader, OpenWebUIReader, LibreChatReader, Mem0Reader)
}

"""What answers without a key: a deterministic responder that speaks the ``ChatModel`` protocol.

It is not a language model. It recognises statements worth keeping, in English and plain German, answers questions
by quoting what recall returned, asks the tools for time and arithmetic, and says plainly what it is. One module
per question it has to answer: ``prompt`` (what does the request say), ``statements`` (what is worth remembering),
``oneself`` (what people may take for remembered), ``secrets`` (what must not be), ``questions`` (what is asked,
which memories answer it), ``arithmetic``, ``foreign`` (which language it is in), ``phrases`` (fixed texts, in
English and German), ``responder`` (the decision) and ``model`` (the protocol).
"""

from memoryapp.llm.offline.model import OfflineModel

__all__ = ["OfflineModel"]

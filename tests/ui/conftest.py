from tests.ui.open_chat import page, server

__all__ = ["page", "server"]

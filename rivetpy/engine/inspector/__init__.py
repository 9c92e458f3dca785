"""The inspector: what an actor holds, shown and changed over HTTP and a WebSocket (wire 9)."""

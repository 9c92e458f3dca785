"""The engine: the host behind HTTP (spec wire)."""

"""The client protocol without any I/O: values, bodies, errors, routes (spec wire)."""

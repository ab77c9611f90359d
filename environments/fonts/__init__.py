"""The bundled fonts: every picture looks the same on every machine."""

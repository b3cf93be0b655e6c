// Holds the precompiled header; nothing else.

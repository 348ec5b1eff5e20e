"""The engine's binding; private: use the modules of `clevrhope` that wrap it."""

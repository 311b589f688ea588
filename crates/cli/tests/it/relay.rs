//! The relay: the one process that holds a credential (N3).

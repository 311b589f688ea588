//! Preflight (S2).

//! Splits.

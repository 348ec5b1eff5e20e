//! Compares questions on random scenes with slow and obvious implementations of the same rules.

#![allow(clippy::unwrap_used, clippy::panic)] // In a test, a panic is the message.

mod bounded;
mod chi_square;
mod distribution;
mod engine;
mod foreign;
mod implied;
mod mention;
mod minimal_sets;
mod one_value;
mod palettes;
mod parse;
mod plain;
mod prelim_sets;
mod reachable;
mod reading;
mod suite_functions;
mod suite_searches;
mod suites;
mod template_errors;
mod windows;
mod world;

//! Tests of questions over several images.

#![allow(clippy::unwrap_used, clippy::panic)] // In a test, a panic is the message.

#[path = "../../benches/assets/mod.rs"]
#[allow(clippy::expect_used)]
mod assets;
mod public_programs;
mod questions;

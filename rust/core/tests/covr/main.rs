//! Tests of questions over several images.

#![allow(clippy::unwrap_used, clippy::panic)] // In a test, a panic is the message.

#[path = "../../../../benchmarks/engine/assets.rs"]
#[allow(dead_code)]
mod assets;
mod public_programs;
mod questions;

//! Questions over several images.

#![allow(clippy::unwrap_used)] // In a test, a panic is the message.

mod public_programs;

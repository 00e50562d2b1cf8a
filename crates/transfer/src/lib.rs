#![doc = include_str!("../README.md")]
#![cfg(target_os = "linux")]

pub mod root;

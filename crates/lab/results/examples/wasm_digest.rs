//! Digests of the shipped experiments as a WebAssembly module without imports, for
//! `wasm_digest.mjs`.

#![allow(unsafe_code, reason = "exported names")]

use std::sync::{Mutex, PoisonError};

use ackclock_results::digest::Digest;
use experiment::file::Experiment;
use experiment::library::Library;
use scenario::Watch;
use sim::Simulator;

/// The text that the last call returned.
static TEXT: Mutex<String> = Mutex::new(String::new());

/// Returns the address and length of the name of the shipped experiment with this number, as `address
/// << 32 | length`. The name is empty after the last one.
#[unsafe(no_mangle)]
pub extern "C" fn name(experiment: u32) -> u64 {
    let name = Library.shipped().into_iter().nth(experiment as usize).map(|source| source.name);
    returned(name.unwrap_or_default())
}

/// Returns the digest of a case as JSON, like [`name`]. The text is empty after the last case.
#[unsafe(no_mangle)]
pub extern "C" fn digest(experiment: u32, case: u32) -> u64 {
    let Some(source) = Library.shipped().into_iter().nth(experiment as usize) else {
        return returned(String::new());
    };
    let digest = Experiment::parse(&source.name, &source.file, &source.text)
        .map_err(|e| e.to_string())
        .and_then(|exp| match exp.cases().get(case as usize) {
            Some(case) => Digest::new(&exp, case, &Simulator, &Watch::default()),
            None => Ok(None),
        });
    returned(match digest {
        Ok(Some(digest)) => serde_json::to_string(&digest).unwrap_or_else(|e| e.to_string()),
        Ok(None) => String::new(),
        Err(why) => why,
    })
}

fn returned(text: String) -> u64 {
    let mut last = TEXT.lock().unwrap_or_else(PoisonError::into_inner);
    *last = text;
    (last.as_ptr() as u64) << 32 | last.len() as u64
}

//! `--on` and `--stack`: where the runs of a command take place.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use experiment::backend::Backend;
use stack::Stack;

use crate::status::Error;

/// The words of these worlds, with what each is.
pub(super) fn worlds(worlds: &[Backend]) -> impl TypedValueParser<Value = Backend> {
    let words = worlds.iter().map(|world| PossibleValue::new(world.word()).help(world.doc()));
    PossibleValuesParser::new(words)
        .try_map(|word| Backend::named(&word).ok_or_else(|| format!("no backend is called `{word}`")))
}

/// The names of the stacks.
pub(super) fn stacks() -> impl TypedValueParser<Value = Stack> {
    PossibleValuesParser::new(Stack::ALL.map(Stack::word)).try_map(|word| {
        let named = Stack::ALL.into_iter().find(|stack| stack.word() == word);
        named.ok_or_else(|| format!("no stack is called `{word}`"))
    })
}

/// Whether stacks are named where there are some, and are on this machine.
///
/// # Errors
/// One that goes with another world, or that is missing.
pub(super) fn check_world(on: Backend, stacks: &[Stack]) -> Result<(), Error> {
    if on != Backend::Stack && !stacks.is_empty() {
        return Err(Error::bad("--stack: it goes with --on stack"));
    }
    let missing =
        |stack: &Stack| stack.find().err().map(|why| Error::bad(format!("--stack {}: {why}", stack.word())));
    stacks.iter().find_map(missing).map_or(Ok(()), Err)
}

/// Those that are named, each once; ours where none is.
pub(super) fn once_each(named: &[Stack]) -> Vec<Stack> {
    let mut stacks: Vec<Stack> = Vec::new();
    for stack in named {
        if !stacks.contains(stack) {
            stacks.push(*stack);
        }
    }
    if stacks.is_empty() { vec![Stack::Kneepoint] } else { stacks }
}

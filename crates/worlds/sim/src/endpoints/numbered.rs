//! Contents of packets on the links, by number.

use std::collections::VecDeque;

/// Values by their increasing number. Those at the front are usually taken first.
#[derive(Debug)]
pub(crate) struct Numbered<T> {
    oldest: u64,
    waiting: VecDeque<Option<T>>,
}

impl<T> Default for Numbered<T> {
    fn default() -> Self {
        Self { oldest: 0, waiting: VecDeque::new() }
    }
}

impl<T> Numbered<T> {
    pub(crate) fn put(&mut self, thing: T) -> u64 {
        self.waiting.push_back(Some(thing));
        self.oldest + self.waiting.len() as u64 - 1
    }

    /// Discards all values. Their numbers are not used again.
    pub(crate) fn forget(&mut self) {
        self.oldest += self.waiting.len() as u64;
        self.waiting.clear();
    }

    pub(crate) fn get(&self, number: u64) -> Option<&T> {
        let index = usize::try_from(number.checked_sub(self.oldest)?).ok()?;
        self.waiting.get(index)?.as_ref()
    }

    pub(crate) fn take(&mut self, number: u64) -> Option<T> {
        let index = usize::try_from(number.checked_sub(self.oldest)?).ok()?;
        let thing = self.waiting.get_mut(index)?.take();
        while self.waiting.front().is_some_and(Option::is_none) {
            self.waiting.pop_front();
            self.oldest += 1;
        }
        thing
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_taken_once_in_any_order() {
        let mut store = Numbered::default();
        let numbers: Vec<u64> = (0..4).map(|n| store.put(10 * n)).collect();
        assert_eq!(numbers, [0, 1, 2, 3]);
        for number in [2, 0, 1, 3] {
            assert_eq!(store.take(number), Some(10 * number));
            assert!(store.take(number).is_none());
        }
        assert_eq!((store.oldest, store.waiting.len()), (4, 0));
        assert_eq!(store.put(7), 4);
        assert!(store.take(5).is_none());
        store.forget();
        assert!(store.take(4).is_none());
        assert_eq!(store.put(8), 5);
    }
}

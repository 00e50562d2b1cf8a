//! Values over time in bounded memory.

/// Keeps the last value of each place. Values of one place follow each other.
pub(crate) fn keep_last<T: Copy>(values: &mut Vec<T>, place: impl Fn(&T) -> u64) {
    values.dedup_by(|next, kept| {
        let is_same = place(next) == place(kept);
        if is_same {
            *kept = *next;
        }
        is_same
    });
}

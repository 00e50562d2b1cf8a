//! A small map whose keys rise.

/// A sorted map that is queried several times per packet. It mostly holds one entry, and new
/// entries have the largest keys.
#[derive(Debug)]
pub(crate) struct SmallMap<K, V>(Vec<(K, Box<V>)>);

impl<K, V> Default for SmallMap<K, V> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<K: Ord + Copy, V> SmallMap<K, V> {
    #[inline]
    fn find(&self, key: K) -> Result<usize, usize> {
        match &self.0[..] {
            [(only, _)] if *only == key => Ok(0),
            all => all.binary_search_by_key(&key, |entry| entry.0),
        }
    }

    #[inline]
    pub(crate) fn get(&self, key: K) -> Option<&V> {
        self.find(key).ok().map(|at| &*self.0[at].1)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, key: K) -> Option<&mut V> {
        self.find(key).ok().map(|at| &mut *self.0[at].1)
    }

    /// Inserts a value, and replaces an earlier value of the same key.
    pub(crate) fn insert(&mut self, key: K, value: V) {
        let entry = (key, Box::new(value));
        match self.find(key) {
            Ok(at) => self.0[at] = entry,
            Err(at) => self.0.insert(at, entry),
        }
    }

    pub(crate) fn remove(&mut self, key: K) {
        if let Ok(at) = self.find(key) {
            self.0.remove(at);
        }
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = K> + '_ {
        self.0.iter().map(|entry| entry.0)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> + '_ {
        self.0.iter().map(|entry| &*entry.1)
    }

    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn like_any_other_map(steps in proptest::collection::vec((any::<bool>(), 0_u64..12, any::<u8>()), 0..60)) {
            let (mut map, mut model) = (SmallMap::default(), BTreeMap::new());
            for (insert, key, value) in steps {
                if insert {
                    map.insert(key, value);
                    model.insert(key, value);
                } else {
                    map.remove(key);
                    model.remove(&key);
                }
                prop_assert_eq!((map.get(key), map.len()), (model.get(&key), model.len()));
                prop_assert!(map.keys().eq(model.keys().copied()) && map.values().eq(model.values()));
            }
        }
    }
}

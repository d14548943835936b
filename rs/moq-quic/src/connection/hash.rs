//! A map keyed by stream ids. They are small, dense numbers that flow control bounds, so one multiplication spreads them
//! well enough and nobody can choose them to collide.

use std::{
    collections::HashMap,
    hash::{BuildHasherDefault, Hasher},
};

pub(crate) type Map<K, V> = HashMap<K, V, BuildHasherDefault<Multiply>>;

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Multiply(u64);

impl Hasher for Multiply {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u64(u64::from(byte));
        }
    }

    fn write_u64(&mut self, value: u64) {
        // The map takes its slot from the low bits and a tag from the high ones: fold the product.
        let product = u128::from(self.0 ^ value) * 0x9e37_79b9_7f4a_7c15;
        self.0 = (product as u64) ^ (product >> 64) as u64;
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }
}

/// Gives memory back after a crowd has left.
pub(crate) fn shrink<K: Eq + std::hash::Hash, V>(map: &mut Map<K, V>) {
    if map.capacity() > 64 && map.len() < map.capacity() / 8 {
        map.shrink_to(map.len() * 2);
    }
}

//! The moq command: relay, publish, subscribe, check, announced, demo.

fn main() {}

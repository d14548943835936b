//! Checks the plans kept under quest/ and lists the ones that are ready.

fn main() {}

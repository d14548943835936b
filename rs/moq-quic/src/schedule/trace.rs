//! The differential trace: 200 seeds of 50,000 random operations through the schedule and its model, compared by a digest
//! of every grant, eviction and refusal.
//!
//! In quarters, so that test runners can use their cores.

use std::ops::Range;

use super::{
    Config, Schedule,
    model::Model,
    op::{Op, Rng, World},
};

const OPERATIONS: usize = 50_000;
const CONFIG: Config = Config {
    quantum: 1_200,
    datagram_budget: 20_000,
};

fn equals_its_model(seeds: Range<u64>) {
    for seed in seeds {
        let mut rng = Rng::new(seed);
        let mut real = World::new(Schedule::new(CONFIG));
        let mut model = World::new(Model::new(CONFIG));
        for step in 0..OPERATIONS {
            let op = Op::random(&mut rng, model.live());
            real.apply(op);
            model.apply(op);
            // Every step, so that a failure names the operation it began with.
            assert_eq!(
                real.hash(),
                model.hash(),
                "seed {seed}, step {step}: {op:?}"
            );
        }
        let (real, model) = (real.schedule, model.schedule);
        assert_eq!(real.evicted(), model.evicted, "seed {seed}");
        assert_eq!(real.datagram_bytes(), model.datagram_bytes(), "seed {seed}");
        let mid_ring = model.mid_ring;
        assert!(
            mid_ring >= 2_000,
            "seed {seed}: only {mid_ring} groups left from mid-ring"
        );
    }
}

#[test]
fn equals_its_model_on_seeds_0_to_50() {
    equals_its_model(0..50);
}

#[test]
fn equals_its_model_on_seeds_50_to_100() {
    equals_its_model(50..100);
}

#[test]
fn equals_its_model_on_seeds_100_to_150() {
    equals_its_model(100..150);
}

#[test]
fn equals_its_model_on_seeds_150_to_200() {
    equals_its_model(150..200);
}

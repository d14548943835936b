//! demo
mod ledger;
mod report;
mod tap;

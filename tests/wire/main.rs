//! Tests with a device for each rank, over a wire that really loses, doubles and reorders: `ci/softroce exec --nics 8
//! --netem …` makes one.

mod broadcast;
mod calm;
mod drops;
mod leaving;
#[path = "../support/long.rs"]
mod long;
#[path = "../support/needs.rs"]
mod needs;
mod protocols;
mod rails;
#[path = "../support/ranks.rs"]
mod ranks;
mod tails;
#[path = "../support/variants.rs"]
mod variants;

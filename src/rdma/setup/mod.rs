//! Making a communicator: from the choice of a device to the connections.

mod agreement;
mod choose;
mod crowd;
mod establish;
mod further;
mod judge;
mod limits;
mod local_rank;
mod locality;
mod nodes;
mod opening;
mod partitions;
mod preparation;
mod rails;
mod report;
mod shared;
mod survey;

pub use establish::{Agreed, Description, complete, establish, establish_on};
pub use further::{Further, shares_memory};
pub use preparation::{Origin, Preparation};
pub use rails::{Made, add_rails, join};
pub use report::{Candidate, DeviceReport, GidReport, Home, Limits, PortReport, Survey};
pub use shared::SharedEndpoint;
pub use survey::survey;

//! Making a communicator: from the choice of a device to the connections.

mod establish;
mod opening;
mod shared;
mod survey;

pub use establish::{Agreed, Description, establish, establish_on};
pub use shared::SharedEndpoint;
pub use survey::{Candidate, DeviceReport, GidReport, PortReport, Survey, survey};

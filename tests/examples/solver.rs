//! An iterative solver whose parameters go to all ranks in each step.
//!
//! Fits a line through points by gradient descent: every rank holds some of the points, rank 0 the
//! parameters. In each step rank 0 broadcasts the parameters, every rank computes the gradient for its own
//! points, and rank 0 adds the gradients up.
//!
//! ```text
//! cargo build --release --no-default-features --features mpi --example solver
//! mpirun -n 8 target/release/examples/solver
//! ```

use mpi::collective::SystemOperation;
use mpi::traits::*;
use std::error::Error;

const POINTS: usize = 1000;
const STEPS: usize = 200;
/// The line that the points are on: offset and slope.
const LINE: [f64; 2] = [3.0, -2.0];

fn main() -> Result<(), Box<dyn Error>> {
    let universe = mpi::initialize().ok_or("MPI does not start")?;
    // The one line that differs from a program without verbcast: `let world = universe.world();`
    let world = verbcast::mpi::MulticastCommunicator::new(universe.world())?;
    let root = world.process_at_rank(0);
    let is_root = world.rank() == 0;

    let (rank, size) = (world.rank() as usize, world.size() as usize);
    let points: Vec<[f64; 2]> = (rank..POINTS)
        .step_by(size)
        .map(|point| point as f64 / POINTS as f64)
        .map(|x| [x, LINE[0] + LINE[1] * x])
        .collect();

    let mut parameters = [0.0_f64; 2];
    for _ in 0..STEPS {
        root.broadcast_into(&mut parameters)?;
        let gradient = gradient(&parameters, &points);
        if is_root {
            let mut total = [0.0; 2];
            root.reduce_into_root(&gradient, &mut total, SystemOperation::sum());
            for (parameter, slope) in parameters.iter_mut().zip(total) {
                *parameter -= slope / POINTS as f64;
            }
        } else {
            root.reduce_into(&gradient, SystemOperation::sum());
        }
    }

    if is_root {
        println!("offset {:.3}, slope {:.3} after {STEPS} steps", parameters[0], parameters[1]);
        match world.by_mpi() {
            None => println!("{} packets were multicast", world.statistics().multicast_sent),
            Some(why) => println!("broadcast by MPI: {why}"),
        }
    }
    Ok(())
}

/// The gradient of the squared error over the points.
fn gradient(parameters: &[f64; 2], points: &[[f64; 2]]) -> [f64; 2] {
    let mut gradient = [0.0; 2];
    for [x, y] in points {
        let error = parameters[0] + parameters[1] * x - y;
        gradient[0] += error;
        gradient[1] += error * x;
    }
    gradient
}

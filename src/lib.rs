//! Reliable broadcast over InfiniBand hardware multicast.

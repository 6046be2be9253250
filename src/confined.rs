//! Processes of this program that read what strangers sent.
//!
//! Each reads one content within limits of memory and time. It reaches no other files, no network and no other processes. The server
//! reads only its bounded answers. A parser that was taken over sees nothing of another tenant.

pub mod limits;
pub mod process;
pub mod rows;

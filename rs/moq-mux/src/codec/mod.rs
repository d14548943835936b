//! What must be read out of elementary streams to describe them and to cut them into frames.
//!
//! Nothing here changes a byte, keeps state beyond a frame, or knows of packets and tracks. [`nal`] walks Annex B for
//! [`h264`] and [`h265`]; [`audio`] is the common face of the audio headers in [`aac`], [`mpeg_audio`] and
//! [`ac3`].

pub mod aac;
pub mod ac3;
pub mod audio;
mod bits;
pub mod h264;
pub mod h265;
pub mod mpeg_audio;
pub mod nal;

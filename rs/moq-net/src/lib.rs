//! Broadcasts, tracks, groups and frames with cursors over a bounded cache; the moq-lite wire protocol.

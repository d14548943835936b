//! The relay: accepts sessions, authorises them, and shares one origin between them.

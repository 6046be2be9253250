//! The trawl server as a library: see ARCHITECTURE.md for the map.

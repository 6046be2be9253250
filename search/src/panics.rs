//! Caught panics, with the place that their payload does not hold.

use std::{any::Any, cell::RefCell, fmt, panic};

thread_local! {
    static PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Notes where panics begin, beside the present hook.
pub fn note_places() {
    let present = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let place = info.location().map(ToString::to_string);
        let _ended = PLACE.try_with(|noted| noted.replace(place));
        present(info);
    }));
}

/// Message and place of a panic, for the log.
#[derive(Debug)]
pub struct CaughtPanic {
    message: String,
    place: Option<String>,
}

impl CaughtPanic {
    /// Reads a payload on the thread that panicked.
    pub fn new(payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let message = text.or_else(|| payload.downcast_ref::<&str>().copied());
        Self { message: message.unwrap_or("a panic without a message").to_owned(), place: PLACE.take() }
    }
}

impl fmt::Display for CaughtPanic {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} at {}", self.message, self.place.as_deref().unwrap_or("an unknown place"))
    }
}

//! Prices of models.

mod table;

pub use table::Prices;

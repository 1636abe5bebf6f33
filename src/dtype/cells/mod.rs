pub mod later;

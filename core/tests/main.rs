//! Core as a program uses it: machines on the heap and in fixed memory, errors, and what people and firmware are shown.

mod conditions;
mod defmt;
mod errors;
mod examples;
mod fixed_informer;
mod full;
mod outside_text;
mod own_decoder;
mod projected;

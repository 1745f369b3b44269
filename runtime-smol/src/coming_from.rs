#![doc = include_str!("coming_from.md")]
#![expect(unused_imports, reason = "the page links to them")]

use crate::controller::*;
use crate::*;

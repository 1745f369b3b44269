#![doc = include_str!("coming_from.md")]
#![expect(unused_imports, reason = "the pages link to them")]

use crate::controller::*;
use crate::*;

#[doc = include_str!("coming_from/client_go.md")]
pub mod client_go {
    use crate::controller::*;
    use crate::*;
}
#[doc = include_str!("coming_from/controller_runtime.md")]
pub mod controller_runtime {
    use crate::controller::*;
    use crate::*;
}
#[doc = include_str!("coming_from/kube.md")]
pub mod kube {
    use crate::controller::*;
    use crate::*;
}

/// Implements [`Debug`](core::fmt::Debug) as the name of a type and some of its values. The rest is not shown, because it
/// is large, secret, or foreign code.
///
/// ```
/// struct Store<T> {
///     objects: Vec<T>,
/// }
/// listwatch_core::summary!(impl[T] "Store" for Store<T>, |it| { objects: it.objects.len() });
///
/// assert_eq!(format!("{:?}", Store { objects: vec!['a'] }), "Store { objects: 1, .. }");
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! summary {
    (
        $(impl[$($generics:tt)*])? $name:literal for $type:ty
        $(, |$it:ident| { $($field:ident: $value:expr),+ $(,)? })?
    ) => {
        impl<$($($generics)*)?> ::core::fmt::Debug for $type {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                $(let $it = self;)?
                f.debug_struct($name)$($(.field(stringify!($field), &$value))+)?.finish_non_exhaustive()
            }
        }
    };
}

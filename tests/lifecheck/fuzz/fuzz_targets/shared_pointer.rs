#![no_main]
denizen::lifecheck!(polynomials::broken::SharedPointer, |u| {
    polynomials::broken::SharedPointer::new(u.arbitrary().unwrap_or(1))
});

#![no_main]
denizen::lifecheck!(polynomials::broken::SelfPointing, |u| {
    polynomials::broken::SelfPointing::new(u.arbitrary().unwrap_or(1))
});

#![no_main]
denizen::lifecheck!(polynomials::Polynomial, |u| polynomials::Polynomial::new(u.arbitrary().unwrap_or_default()));

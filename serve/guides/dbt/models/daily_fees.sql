with paid as (
    -- Amounts are decimal texts of up to 39 digits.
    select relay_chain, chain, date, fee::hugeint as fee, true as is_paid_for
    from {{ source('raw', 'extrinsics') }}
    where fee_bearing
),

days as (
    select distinct relay_chain, chain, date
    from {{ source('raw', 'blocks') }}
)

select
    relay_chain, chain, date,
    -- Unknown, and not 0, where no fee of the day is known.
    case when count(is_paid_for) = 0 or count(fee) > 0 then coalesce(sum(fee), 0)::varchar end as total_fees_planck,
    count(*) filter (fee > 0) as num_fee_paying,
    count(*) filter (is_paid_for and fee is null) as fee_unknown
from days
left join paid using (relay_chain, chain, date)
group by all

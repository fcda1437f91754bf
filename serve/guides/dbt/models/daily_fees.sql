with paid as (
    -- Amounts are decimal texts of up to 39 digits.
    select relay_chain, chain, date, fee::hugeint as fee, true as is_transaction
    from {{ source('raw', 'extrinsics') }}
    where signed or ethereum
),

days as (
    select distinct relay_chain, chain, date
    from {{ source('raw', 'blocks') }}
)

select
    relay_chain, chain, date,
    coalesce(sum(fee), 0)::varchar as total_fees_planck,
    count_if(fee > 0) as num_fee_paying,
    count_if(is_transaction and fee is null) as fee_unknown
from days
left join paid using (relay_chain, chain, date)
group by all

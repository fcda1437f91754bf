-- broker.Purchased: who, region, price, duration; broker.Renewed: who, price, old core, core, begin, duration, workload.
with sold as (
    select *, event = 'Purchased' as is_bulk
    from {{ source('raw', 'events') }}
    where pallet = 'broker' and event in ('Purchased', 'Renewed') and refused = ''
)

select
    relay_chain, chain, number as block_number, event_index, time at time zone 'UTC' as timestamp,
    case when is_bulk then 'bulk' else 'renewal' end as purchase_type,
    (case when is_bulk then data[2]->>'$.begin' else data[5] end)::bigint as region_begin,
    (case when is_bulk then data[2]->>'$.core' else data[4] end)::bigint as core,
    case when is_bulk then data[2]->>'$.mask' end as mask,
    case when is_bulk then data[3] else data[2] end as price_planck,
    (case when is_bulk then data[4] else data[6] end)::bigint as duration,
    number || '-' || extrinsic_index as extrinsic_id
from sold

-- Files are opened and typed in, and the model changes whole files: what is in the buffers and under which names then?
local root = vim.env.TEST_ROOT
local function client() return vim.lsp.get_clients({ name = 'copydesk' })[1] end

-- One a line: a file, or a file and what is typed at its end.
local last
for _, line in ipairs(vim.json.decode(vim.env.TEST_OPEN)) do
  vim.cmd.edit(root .. '/' .. line.file)
  last = vim.api.nvim_get_current_buf()
  wait('copydesk at ' .. line.file, function()
    local all = vim.lsp.get_clients({ name = 'copydesk', bufnr = last })
    return all[1] and all[1].initialized
  end)
  if line.typed ~= vim.NIL then
    vim.api.nvim_buf_set_lines(last, -1, -1, true, { line.typed })
  end
end

local ended
vim.api.nvim_create_autocmd('LspProgress', {
  callback = function(args)
    local value = args.data.params.value
    if value.kind == 'end' then ended = value end
  end,
})
client():request('workspace/executeCommand', {
  command = 'copydesk.ask',
  arguments = { { prompt = 'do it', uri = vim.uri_from_bufnr(last) } },
}, function(problem) if problem then show('error', vim.inspect(problem)) end end)
wait('the end of the run', function() return ended end)
show('outcome', ended.message)

local buffers = {}
for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
  local name = vim.api.nvim_buf_get_name(buffer)
  if vim.api.nvim_buf_is_loaded(buffer) and vim.startswith(name, root) then
    buffers[name:sub(#root + 2)] = {
      text = table.concat(vim.api.nvim_buf_get_lines(buffer, 0, -1, true), '\n') .. '\n',
      modified = vim.bo[buffer].modified,
    }
  end
end
show('buffers', buffers)
